// Writes the text that the dispatcher makes of a compressed one, from standard input, or ends with 1 where that is
// damaged and with 2 where there is no memory for it.
#include "device/kernel_text.h"

#include <cstdio>
#include <cstring>
#include <iterator>
#include <vector>

int main() {
    using qdq::runtime::kernel_text;
    std::vector<char> compressed(1 << 20);
    compressed.resize(std::fread(compressed.data(), 1, compressed.size(), stdin));
    compressed.shrink_to_fit();  // so that a sanitizer sees what is read beyond its end
    const kernel_text text(compressed.data());
    if (!text.data()) {
        return text.is() == kernel_text::state::damaged ? 1 : 2;
    }
    std::fwrite(text.data(), 1, std::strlen(text.data()), stdout);
}
