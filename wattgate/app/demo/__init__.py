"""A demonstration: an application with simulated homes, so that everything can be tried without a meter."""
