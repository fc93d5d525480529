// Linked with thrum::posix first: what comes after that is thrum::posix_locks, and after this the C library.
extern "C" bool finds_itself();

int main() { return finds_itself() ? 1 : 0; }
