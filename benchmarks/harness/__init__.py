"""What every benchmark of lend shares: cases as data, interleaved timing, reports."""
