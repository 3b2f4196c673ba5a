"""The cost model: what a message costs by its size, fitted from measured exchanges."""
