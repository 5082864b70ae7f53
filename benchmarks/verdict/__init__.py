"""How often verdicts are wrong, and how often they find what is there."""
