"""What a measurement finds: tables of cycles and exchanges, with all metadata, in memory and on disk."""
