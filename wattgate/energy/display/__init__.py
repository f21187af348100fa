"""Content of a home's display: values built from database rows, then updated by readings and time. No I/O."""
