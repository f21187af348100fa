"""Tests of the files in deploy/: with the programs that read them, in front of real gateways where they can."""
