"""Tables: named columns of one length, whichever way they are cut into chunks."""
