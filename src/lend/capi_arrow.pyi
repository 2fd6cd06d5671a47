"""Types of lend.capi_arrow, which has nothing for Python."""
