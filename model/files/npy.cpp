#include "files/file_kinds.h"
#include "files/npy_header.h"
#include "support/atomic_file.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/text.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace qdq::model {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr const char *names[] = {"array", "array_scale", "array_zero_point"};

constexpr uint64_t max_header_bytes = 65535;  // what version 1 can tell

std::string read_text(const input_file &file, uint64_t offset, uint64_t length) {
    if (offset + length > file.size()) {
        throw failure("the .npy header is truncated");
    }
    std::string text(length, '\0');
    file.read(offset, std::as_writable_bytes(std::span(text)));
    return text;
}

// Returns the text of the header that begins there, and where it ends.
std::pair<std::string, uint64_t> read_npy_header(const input_file &file, uint64_t begin) {
    size_t prefix = magic.size() + 2;
    if (file.size() - begin < prefix || read_text(file, begin, magic.size()) != magic) {
        throw failure("not an .npy file");
    }
    int version = static_cast<unsigned char>(read_text(file, begin + magic.size(), 1)[0]);
    if (version < 1 || version > 3) {
        throw failure(".npy version " + std::to_string(version) + " is not supported");
    }
    std::string field = read_text(file, begin + prefix, version == 1 ? 2 : 4);
    uint32_t length = 0;
    std::memcpy(&length, field.data(), field.size());
    if (length > max_header_bytes) {
        throw failure("the .npy header would have " + std::to_string(length) + " bytes, more than the limit of " +
                      std::to_string(max_header_bytes));
    }
    uint64_t text_begin = begin + prefix + field.size();
    return {read_text(file, text_begin, length), text_begin + length};
}

std::string make_npy_header(const tensor_info &tensor) {
    std::string shape;
    for (int64_t extent : tensor.shape) {
        shape += std::to_string(extent) + ", ";
    }
    std::string text =
        "{'descr': '" + std::string(tensor.type->npy) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
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
    int64_t count = element_count(shape);
    if (count == 0) {  // the product of its other extents may be of any size
        return;
    }
    std::vector<int64_t> index(shape.size(), 0), strides(shape.size(), 1);
    for (size_t d = 1; d < shape.size(); ++d) {
        strides[d] = strides[d - 1] * shape[d - 1];
    }
    int64_t source = 0;
    constexpr int64_t step = 1 << 16;  // between two looks for a signal
    for (int64_t left = count; left > 0; --left) {
        if (left % step == 0) {
            throw_if_interrupted();
        }
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

// Where other programs may put the parts of the codes in x.npy.
fs::path beside(fs::path path, size_t part) {
    constexpr const char *extensions[] = {".npy", ".scale.npy", ".zero_point.npy"};
    return path.replace_extension(extensions[part]);
}

// Programs that look there would take parts of other codes for those of these.
void refuse_parts_beside(const fs::path &path) {
    for (size_t part = 1; part < std::size(names); ++part) {
        if (fs::path other = beside(path, part); fs::exists(other)) {
            throw failure(other.string() + ": would be taken for a part of " + path.string() +
                          ", which holds all of its parts; remove or rename it");
        }
    }
}

// Presents the arrays as the tensors "array", "array_scale" and "array_zero_point": one after the other in the file, as
// numpy.save leaves them in a file that stays open and numpy.load reads them again. Those of a file with codes alone
// may also be x.scale.npy and x.zero_point.npy beside x.npy. A column-major array is transposed while it is read.
class npy_reader final : public tensor_reader {
public:
    explicit npy_reader(const std::filesystem::path &path);
    void read_at(size_t index, uint64_t offset, std::span<std::byte> bytes) const override;

private:
    struct array {
        const input_file *file;
        uint64_t begin;  // of its data
        bool fortran_order;
    };

    void add_file(const std::filesystem::path &path, size_t part, size_t end_part);
    uint64_t add_array(const input_file &file, uint64_t begin, size_t part);

    std::vector<array> arrays_;
};

// Writes all arrays to one file: several could not be replaced as one.
class npy_writer final : public tensor_writer {
public:
    npy_writer(const output_options &output, const tensor_list &tensors);
    void write_at(size_t index, uint64_t offset, std::span<const std::byte> bytes) override;
    void commit() override;

private:
    atomic_file file_;
    std::vector<uint64_t> offsets_;  // of the data of each tensor
};

npy_reader::npy_reader(const fs::path &path) : tensor_reader(npy_files) {
    constexpr size_t all = std::size(names);
    add_file(path, 0, all);
    if (tensors()[0].type->is_code() && tensors().size() == 1) {
        for (size_t part = 1; part < all && fs::exists(beside(path, part)); ++part) {
            add_file(beside(path, part), part, part + 1);
        }
    }
}

// Adds the arrays of a file as these parts. Behind an array that is no codes there are none.
void npy_reader::add_file(const fs::path &path, size_t part, size_t end_part) {
    const input_file &file = open(path);
    name_in_failures(path.string(), [&] {
        uint64_t end = add_array(file, 0, part);
        while (++part < end_part && tensors()[0].type->is_code() && end < file.size()) {
            end = add_array(file, end, part);
        }
        if (end < file.size()) {
            throw failure(std::to_string(file.size() - end) + " bytes at the end belong to no array");
        }
    });
}

// Adds the array that begins there, and returns where it ends.
uint64_t npy_reader::add_array(const input_file &file, uint64_t begin, size_t part) {
    auto [text, data_begin] = read_npy_header(file, begin);
    npy_header header = parse_npy_header(text);
    const dtype *type = find_npy_dtype(header.descr);
    if (type == nullptr) {
        throw failure("arrays of type " + shortened(header.descr) + " are not supported");
    }
    if (part == 1 && !type->is_float()) {
        throw failure("its scale is " + std::string(type->name));
    }
    tensor_info tensor = {names[part], type, header.shape};
    uint64_t size = byte_size(tensor), available = file.size() - data_begin;
    if (size > available) {
        throw failure("it has " + std::to_string(available) + " bytes of data, its shape " + shape_text(header.shape) +
                      " takes " + std::to_string(size));
    }
    tensors_.add(std::move(tensor));
    arrays_.push_back({&file, data_begin, header.fortran_order});
    return data_begin + size;
}

void npy_reader::read_at(size_t index, uint64_t offset, std::span<std::byte> bytes) const {
    const auto &[file, begin, fortran_order] = arrays_[index];
    const tensor_info &tensor = tensors()[index];
    if (!fortran_order || tensor.shape.size() < 2) {
        file->read(begin + offset, bytes);
        return;
    }
    std::vector<std::byte> column_major(byte_size(tensor));
    file->read(begin, column_major);
    auto element = static_cast<size_t>(tensor.type->bits / 8);
    if (bytes.size() == column_major.size()) {
        transpose(tensor.shape, element, column_major.data(), bytes.data());
        return;
    }
    std::vector<std::byte> row_major(column_major.size());
    transpose(tensor.shape, element, column_major.data(), row_major.data());
    std::ranges::copy(std::span(row_major).subspan(offset, bytes.size()), bytes.begin());
}

npy_writer::npy_writer(const output_options &output, const tensor_list &tensors) : file_(output.path, output.replace) {
    if (tensors[0].type->is_code()) {
        refuse_parts_beside(output.path);
    }
    uint64_t end = 0;
    for (const tensor_info &tensor : tensors) {
        std::string header = make_npy_header(tensor);
        file_.write(end, std::as_bytes(std::span(header)));
        offsets_.push_back(end + header.size());
        end = offsets_.back() + byte_size(tensor);
    }
}

void npy_writer::write_at(size_t index, uint64_t offset, std::span<const std::byte> bytes) {
    file_.write(offsets_[index] + offset, bytes);
}

void npy_writer::commit() { file_.publish(); }

}  // namespace

const file_kind npy_files = {
    .name = "NPY",
    .extension = ".npy",
    .open = [](const fs::path &path, other_types) -> std::unique_ptr<tensor_reader> {
        return std::make_unique<npy_reader>(path);
    },
    .create = [](const output_options &output, const tensor_reader &, const tensor_list &tensors, const metadata_map &)
        -> std::unique_ptr<tensor_writer> { return std::make_unique<npy_writer>(output, tensors); },
    .holds = holding::arrays,
    .lowest_quantized_rank = 0,
    .has_metadata = false,
};

}  // namespace qdq::model
