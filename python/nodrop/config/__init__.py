"""What a user may write: every key, its default, and the one rule of precedence."""
