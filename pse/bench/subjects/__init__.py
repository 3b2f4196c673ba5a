"""The subjects: each file measures one thing beside its floors and peers, by a function ``measure``."""
