// EMPTY
int main() { return 0; }
