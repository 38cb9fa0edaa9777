// qdq_last_error and qdq_status_string.
#include "call.h"

#include <cstring>
#include <thread>

namespace api_test {
namespace {

qdq_status fail_with_block_size(int64_t block_size) {
    const tensor_memory x = floats(QDQ_F32, {4}), scale = scales({2}), y(QDQ_I8, {4});
    const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_y = y.view();
    qdq_options options{};
    options.block_size = block_size;
    return qdq_quantize(&c_x, &c_scale, nullptr, &c_y, &options);
}

TEST(LastError, is_not_null_and_not_another_threads_on_a_new_thread) {
    ASSERT_EQ(fail_with_block_size(-66), QDQ_INVALID_ARGUMENT);
    std::thread([] {
        ASSERT_NE(qdq_last_error(), nullptr);
        EXPECT_EQ(std::strstr(qdq_last_error(), "-66"), nullptr) << qdq_last_error();
    }).join();
}

TEST(LastError, belongs_to_the_thread_that_failed) {
    ASSERT_EQ(fail_with_block_size(-11), QDQ_INVALID_ARGUMENT);
    std::thread([] {
        ASSERT_EQ(fail_with_block_size(-22), QDQ_INVALID_ARGUMENT);
        EXPECT_NE(std::strstr(qdq_last_error(), "-22"), nullptr) << qdq_last_error();
    }).join();
    EXPECT_NE(std::strstr(qdq_last_error(), "-11"), nullptr) << qdq_last_error();
}

TEST(LastError, is_kept_through_calls_that_succeed) {
    ASSERT_EQ(fail_with_block_size(-33), QDQ_INVALID_ARGUMENT);
    const std::string message = qdq_last_error();
    ASSERT_EQ(fail_with_block_size(2), QDQ_OK);
    EXPECT_EQ(message, qdq_last_error());
}

TEST(LastError, is_replaced_by_the_next_failure) {
    ASSERT_EQ(fail_with_block_size(-44), QDQ_INVALID_ARGUMENT);
    ASSERT_EQ(fail_with_block_size(-55), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(qdq_last_error(), "-55"), nullptr) << qdq_last_error();
    EXPECT_EQ(std::strstr(qdq_last_error(), "-44"), nullptr) << qdq_last_error();
}

TEST(LastError, names_the_function) {
    ASSERT_EQ(fail_with_block_size(-1), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(qdq_last_error(), "qdq_quantize"), nullptr) << qdq_last_error();
}

// As a name that another message quotes.
TEST(LastError, may_be_passed_to_the_call_that_replaces_it) {
    ASSERT_EQ(fail_with_block_size(-66), QDQ_INVALID_ARGUMENT);
    std::string message = qdq_last_error();
    ASSERT_EQ(qdq_force_target(qdq_last_error()), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::string(qdq_last_error()).find('"' + message + '"'), std::string::npos) << qdq_last_error();
    message = qdq_last_error();
    qdq_options options;
    ASSERT_EQ(qdq_profile_options(qdq_last_error(), QDQ_I8, &options), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::string(qdq_last_error()).find('"' + message + '"'), std::string::npos) << qdq_last_error();
}

TEST(StatusString, names_every_status) {
    EXPECT_STREQ(qdq_status_string(QDQ_OK), "QDQ_OK");
    EXPECT_STREQ(qdq_status_string(QDQ_INVALID_ARGUMENT), "QDQ_INVALID_ARGUMENT");
    EXPECT_STREQ(qdq_status_string(QDQ_UNSUPPORTED), "QDQ_UNSUPPORTED");
    EXPECT_STREQ(qdq_status_string(QDQ_DEVICE_ERROR), "QDQ_DEVICE_ERROR");
    EXPECT_STREQ(qdq_status_string(QDQ_OUT_OF_MEMORY), "QDQ_OUT_OF_MEMORY");
}

TEST(StatusString, is_never_null) {
    for (int value : {5, 6, 7}) {  // not statuses, but values an enum of five can hold
        EXPECT_NE(qdq_status_string(static_cast<qdq_status>(value)), nullptr);
    }
}

}  // namespace
}  // namespace api_test
