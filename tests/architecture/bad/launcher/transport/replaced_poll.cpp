// A violation: a function that the linker puts in the place of one of the C library.
int __wrap_poll(int descriptor) { return descriptor; }
