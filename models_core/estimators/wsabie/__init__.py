"""Wsabie."""
