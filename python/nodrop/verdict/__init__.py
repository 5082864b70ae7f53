"""What several runs say of each other: better, worse, the same, or not known; and where a series changes.

Pure: numbers in, numbers out.
"""
