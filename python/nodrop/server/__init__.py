"""`nodrop serve`: the REST API (`rest/`) and the pages (`pages/`)."""
