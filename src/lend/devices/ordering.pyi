"""Types of lend.devices.ordering: nothing that Python calls."""
