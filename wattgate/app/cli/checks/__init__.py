"""The checks of `wattgate doctor`, one module for each subject."""
