"""What ranks do at a pause: checkpoints and the migration of partitions."""
