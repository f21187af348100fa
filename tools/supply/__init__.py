"""Supply chain of the project: lock files, what registries know of them, licences and the bill of materials."""
