"""NFVbench's configuration: every key it has, what each becomes here, and what is kept for a stage not built yet."""
