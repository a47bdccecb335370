"""Pictures of results: drawn from tidy rows, never from data; they need matplotlib (extra `report`)."""
