"""Personal data: the columns that contain it, their treatment by an erasure, and the rows of a user."""
