"""OTF2 archives, read and written."""
