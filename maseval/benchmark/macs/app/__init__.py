"""The commands of MACS."""
