"""Wire formats: one protocol is one file, import and export side by side; their order stands in order.py."""
