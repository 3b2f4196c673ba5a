"""What tests of several rooms are made of."""
