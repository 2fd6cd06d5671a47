"""Memory of devices: what the host may touch of it and when, waiting, and copies between devices and the host."""
