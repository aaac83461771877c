"""What tests/bench/truth runs, and how the document has it."""
