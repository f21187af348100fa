"""The demonstration: an application with simulated homes, to try all features without a meter."""
