// Carries a precompiled header that other targets share.
int main() { return 0; }
