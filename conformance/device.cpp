#include "device.h"

#include "reference/formats.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace conformance {

namespace {

constexpr int64_t fence_bytes = 256;
constexpr uint8_t fence = 0x5a;

struct byte_range {
    int64_t first, end;  // relative to the data
};

bool is_empty(const qdq_tensor &t) {
    return std::any_of(t.shape, t.shape + t.rank, [](int64_t extent) { return extent == 0; });
}

byte_range touched(const qdq_tensor &t) {
    const int64_t bits = reference::bits_of(t.dtype);
    int64_t lowest = 0, highest = 0, count = 1;
    for (int32_t d = 0; d < t.rank; ++d) {
        count *= t.shape[d];
        if (t.strides == nullptr || reference::is_packed(t.dtype)) {
            continue;
        }
        const int64_t reach = (t.shape[d] - 1) * t.strides[d];
        (reach < 0 ? lowest : highest) += reach;
    }
    if (t.strides == nullptr || reference::is_packed(t.dtype)) {
        highest = count - 1;
    }
    return {lowest * bits / 8, ((highest + 1) * bits + 7) / 8};
}

// A copy of a tensor's memory on a device, between fences.
class device_tensor {
public:
    device_tensor(device &on, const qdq_tensor *host, int64_t misalignment) : on_(on) {
        if (host == nullptr) {
            return;
        }
        tensor_ = *host;
        tensor_.device = {on.kind(), 0, 0};
        if (host->data == nullptr || is_empty(*host)) {
            return;
        }
        range_ = touched(*host);
        before_ = fence_bytes + misalignment;
        bytes_.assign(static_cast<size_t>(before_ + range_.end - range_.first + fence_bytes), fence);
        std::memcpy(bytes_.data() + before_, data(*host), static_cast<size_t>(range_.end - range_.first));
        memory_ = on.allocate(static_cast<int64_t>(bytes_.size()));
        if (memory_ == nullptr) {
            std::abort();
        }
        on.write(memory_, bytes_.data(), static_cast<int64_t>(bytes_.size()));
        const int64_t offset = before_ - range_.first;
        tensor_.device = {on.kind(), 0, on.kind() == QDQ_DEVICE_OPENCL ? offset : 0};
        tensor_.data = on.kind() == QDQ_DEVICE_OPENCL ? memory_ : static_cast<uint8_t *>(memory_) + offset;
    }
    ~device_tensor() {
        if (memory_ != nullptr) {
            on_.free(memory_);
        }
    }
    device_tensor(const device_tensor &) = delete;

    const qdq_tensor &tensor() const { return tensor_; }

    // False where bytes around the tensor have changed.
    bool copy_back(const qdq_tensor &host) {
        if (memory_ == nullptr) {
            return true;
        }
        on_.read(memory_, bytes_.data(), static_cast<int64_t>(bytes_.size()));
        const int64_t size = range_.end - range_.first;
        std::memcpy(data(host), bytes_.data() + before_, static_cast<size_t>(size));
        auto intact = [](uint8_t byte) { return byte == fence; };
        return std::all_of(bytes_.begin(), bytes_.begin() + before_, intact) &&
               std::all_of(bytes_.begin() + before_ + size, bytes_.end(), intact);
    }

private:
    uint8_t *data(const qdq_tensor &host) const { return static_cast<uint8_t *>(host.data) + range_.first; }

    device &on_;
    qdq_tensor tensor_{};
    byte_range range_{};
    int64_t before_ = 0;
    std::vector<uint8_t> bytes_;
    void *memory_ = nullptr;
};

qdq_status run(device &on, bool quantizes, const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
               const qdq_tensor *y, const qdq_options *options, bool by_plan) {
    if (!by_plan) {
        qdq_options with_stream = options != nullptr ? *options : qdq_options{};
        with_stream.stream = on.stream();
        return (quantizes ? qdq_quantize : qdq_dequantize)(x, scale, zero_point, y, &with_stream);
    }
    qdq_plan plan;
    std::memset(&plan, 0x7f, sizeof plan);
    const qdq_status status =
        (quantizes ? qdq_plan_quantize : qdq_plan_dequantize)(&plan, x, scale, zero_point, y, options);
    return status == QDQ_OK ? qdq_run(&plan, x->data, y->data, on.stream()) : status;
}

qdq_status run(device &on, const dynamic_call_on_device &call, bool by_plan) {
    qdq_options with_stream = call.options != nullptr ? *call.options : qdq_options{};
    with_stream.stream = on.stream();
    if (call.y == nullptr) {
        return qdq_compute_scales(call.x, call.codes, call.scale, call.zero_point, call.how, &with_stream);
    }
    if (!by_plan) {
        return qdq_quantize_dynamic(call.x, call.scale, call.zero_point, call.y, call.how, &with_stream);
    }
    qdq_plan plan;
    std::memset(&plan, 0x7f, sizeof plan);
    const qdq_status status =
        qdq_plan_quantize_dynamic(&plan, call.x, call.scale, call.zero_point, call.y, call.how, call.options);
    return status == QDQ_OK ? qdq_run_dynamic(&plan, call.x->data, call.scale->data,
                                              call.zero_point != nullptr ? call.zero_point->data : nullptr,
                                              call.y->data, on.stream())
                            : status;
}

}  // namespace

std::unique_ptr<device> open_device(qdq_device_kind kind, std::string &reason) {
    return kind == QDQ_DEVICE_OPENCL ? open_opencl(reason) : open_cuda(reason);
}

qdq_status call_on_device(device &on, bool quantizes, const qdq_tensor *x, const qdq_tensor *scale,
                          const qdq_tensor *zero_point, const qdq_tensor *y, const qdq_options *options,
                          const device_call_options &how) {
    const bool in_place = x->data != nullptr && x->data == y->data;
    device_tensor device_x(on, x, how.x_bytes), device_scale(on, scale, 0), device_zero_point(on, zero_point, 0);
    device_tensor device_y(on, in_place ? nullptr : y, how.y_bytes);
    qdq_tensor y_there = in_place ? *y : device_y.tensor();
    if (in_place) {
        y_there.data = device_x.tensor().data;
        y_there.device = device_x.tensor().device;
    }
    const qdq_status status =
        run(on, quantizes, &device_x.tensor(), &device_scale.tensor(),
            zero_point != nullptr ? &device_zero_point.tensor() : nullptr, &y_there, options, how.by_plan);
    if (!(in_place ? device_x : device_y).copy_back(*y)) {
        return QDQ_DEVICE_ERROR;
    }
    return status;
}

qdq_status call_on_device(device &on, const dynamic_call_on_device &call, const device_call_options &how) {
    device_tensor x(on, call.x, how.x_bytes), scale(on, call.scale, 0), zero_point(on, call.zero_point, 0);
    device_tensor y(on, call.y, how.y_bytes);
    dynamic_call_on_device there = call;
    there.x = &x.tensor();
    there.scale = &scale.tensor();
    there.zero_point = call.zero_point != nullptr ? &zero_point.tensor() : nullptr;
    there.y = call.y != nullptr ? &y.tensor() : nullptr;
    const qdq_status status = run(on, there, how.by_plan);
    const bool intact = scale.copy_back(*call.scale) &&
                        (call.zero_point == nullptr || zero_point.copy_back(*call.zero_point)) &&
                        (call.y == nullptr || y.copy_back(*call.y));
    return intact ? status : QDQ_DEVICE_ERROR;
}

}  // namespace conformance
