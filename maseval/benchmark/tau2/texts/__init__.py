"""The original's texts that models read: prompts and tool descriptions, extracted from its source.

The package carries none of these texts. The few source files that hold them are fetched and checked
like the data files, and read as text: parsed, never imported or executed.
"""
