#include "npy.h"

#include "error.h"
#include "text.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace qdq_cli {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr const char *names[] = {"array", "array_scale", "array_zero_point"};

std::string read_text(const input_file &file, uint64_t offset, uint64_t length) {
    if (offset + length > file.size()) {
        throw failure("the .npy header is truncated");
    }
    std::string text(length, '\0');
    file.read(offset, std::as_writable_bytes(std::span(text)));
    return text;
}

// Returns the header's text and where the data begins.
std::pair<std::string, uint64_t> read_npy_header(const input_file &file) {
    size_t prefix = magic.size() + 2;
    if (file.size() < prefix || read_text(file, 0, magic.size()) != magic) {
        throw failure("not an .npy file");
    }
    int version = static_cast<unsigned char>(read_text(file, magic.size(), 1)[0]);
    if (version < 1 || version > 3) {
        throw failure(".npy version " + std::to_string(version) + " is not supported");
    }
    std::string field = read_text(file, prefix, version == 1 ? 2 : 4);
    uint32_t length = 0;
    std::memcpy(&length, field.data(), field.size());
    prefix += field.size();
    return {read_text(file, prefix, length), prefix + length};
}

std::string make_npy_header(const tensor_info &tensor) {
    std::string shape;
    for (int64_t extent : tensor.shape) {
        shape += std::to_string(extent) + ", ";
    }
    std::string text = "{'descr': '" + std::string(tensor.type->npy) + "', 'fortran_order': False, 'shape': (" + shape +
                       "), }";
    constexpr size_t prefix = 10, alignment = 64;
    size_t total = (prefix + text.size() + 1 + alignment - 1) / alignment * alignment;
    text.resize(total - prefix - 1, ' ');
    text += '\n';
    auto length = static_cast<uint16_t>(text.size());
    std::string bytes(magic);
    bytes += std::string("\x01\x00", 2);
    bytes += static_cast<char>(length & 0xff);
    bytes += static_cast<char>(length >> 8);
    return bytes + text;
}

// Copies a column-major array to a row-major one.
void transpose(const std::vector<int64_t> &shape, size_t element, const std::byte *from, std::byte *to) {
    std::vector<int64_t> index(shape.size(), 0), strides(shape.size(), 1);
    for (size_t d = 1; d < shape.size(); ++d) {
        strides[d] = strides[d - 1] * shape[d - 1];
    }
    int64_t source = 0;
    for (int64_t left = element_count(shape); left > 0; --left) {
        std::memcpy(to, from + static_cast<size_t>(source) * element, element);
        to += element;
        for (size_t d = shape.size(); d-- > 0;) {
            source += strides[d];
            if (++index[d] < shape[d]) {
                break;
            }
            source -= strides[d] * shape[d];
            index[d] = 0;
        }
    }
}

// The file among npy_files() that holds this tensor.
size_t file_index(const tensor_info &tensor) {
    auto found = std::find(std::begin(names), std::end(names), tensor.name);
    return static_cast<size_t>(found - std::begin(names));
}

}  // namespace

std::array<fs::path, 3> npy_files(const fs::path &path) {
    fs::path scale = path, zero_point = path;
    return {path, scale.replace_extension(".scale.npy"), zero_point.replace_extension(".zero_point.npy")};
}

npy_reader::npy_reader(const fs::path &path) {
    auto paths = npy_files(path);
    open(paths[0], names[0]);
    for (size_t i = 1; i < paths.size() && tensors()[0].type->is_code(); ++i) {
        std::error_code error;
        if (fs::exists(paths[i], error)) {
            open(paths[i], names[i]);
        }
    }
}

void npy_reader::open(const fs::path &path, const std::string &name) {
    auto file = std::make_unique<input_file>(path.string());
    try {
        auto [text, data_begin] = read_npy_header(*file);
        npy_header header = parse_npy_header(text);
        const dtype *type = find_npy_dtype(header.descr);
        if (type == nullptr) {
            throw failure("arrays of type " + printable(header.descr) + " are not supported");
        }
        tensor_info tensor = {name, type, header.shape};
        if (uint64_t expected = byte_size(tensor), actual = file->size() - data_begin; actual != expected) {
            throw failure("it has " + std::to_string(actual) + " bytes of data, its shape " +
                          shape_text(header.shape) + " takes " + std::to_string(expected));
        }
        add(tensor);
        files_.push_back(path);
        arrays_.push_back({std::move(file), data_begin, header.fortran_order});
    } catch (const failure &error) {
        throw failure(path.string() + ": " + error.what());
    }
}

void npy_reader::read(size_t index, std::span<std::byte> bytes) const {
    const array_file &array = arrays_[index];
    if (!array.fortran_order || tensors()[index].shape.size() < 2) {
        array.file->read(array.data_begin, bytes);
        return;
    }
    std::vector<std::byte> column_major(bytes.size());
    array.file->read(array.data_begin, column_major);
    auto element = static_cast<size_t>(tensors()[index].type->bits / 8);
    transpose(tensors()[index].shape, element, column_major.data(), bytes.data());
}

npy_writer::npy_writer(const fs::path &path, const std::vector<tensor_info> &tensors) {
    auto paths = npy_files(path);
    std::vector<bool> used(paths.size(), false);
    for (const tensor_info &tensor : tensors) {
        std::string header = make_npy_header(tensor);
        size_t i = file_index(tensor);
        used[i] = true;
        outputs_.push_back({std::make_unique<atomic_file>(paths[i]), header.size()});
        outputs_.back().file->write(0, std::as_bytes(std::span(header)));
    }
    for (size_t i = 1; i < paths.size(); ++i) {
        if (!used[i] && tensors.front().type->is_code()) {
            obsolete_.push_back(paths[i]);
        }
    }
}

void npy_writer::write(size_t index, std::span<const std::byte> bytes) {
    outputs_[index].file->write(outputs_[index].data_begin, bytes);
}

void npy_writer::commit() {
    for (const output &each : outputs_) {
        each.file->finish();
    }
    for (const output &each : outputs_) {
        each.file->publish();
    }
    for (const fs::path &path : obsolete_) {
        std::error_code error;
        fs::remove(path, error);  // most often it is not there
    }
}

}  // namespace qdq_cli
