"""Encryption of stored secrets that the gateway must read back, such as the secrets that sign webhooks."""
