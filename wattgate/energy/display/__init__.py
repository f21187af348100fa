"""What a home's display draws: values made from what the database has, and moved on by readings and by time. Pure."""
