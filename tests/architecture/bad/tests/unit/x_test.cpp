// A test file of the bad tree.
