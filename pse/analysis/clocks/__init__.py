"""Clocks of different hosts: what messages prove about them, and times that agree with it."""
