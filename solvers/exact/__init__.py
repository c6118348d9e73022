"""Exact methods: linear programs."""
