// Shared libraries that link the static library, and the shared library: loaded beside one another, used, and unloaded.
#include "plugin.h"

#include "child.h"
#include "split_call.h"
#include "support/thinning.h"

#include <dlfcn.h>
#include <unistd.h>

#include <thread>

namespace concurrency_test {
namespace {

class loaded {
public:
    explicit loaded(const char *path, int mode = RTLD_GLOBAL) : handle(dlopen(path, RTLD_NOW | mode)) {
        if (!handle) {
            ADD_FAILURE() << dlerror();
            std::abort();
        }
    }
    ~loaded() { dlclose(handle); }
    loaded(const loaded &) = delete;

    template<typename Function> Function *symbol(const char *name) const {
        return reinterpret_cast<Function *>(dlsym(handle, name));
    }

private:
    void *handle;
};

// The kernel lists a thread for a moment after it has been joined.
int64_t settled_thread_count(int64_t expected) {
    for (int i = 0; i < 2000 && thread_count() != expected; i++) {
        usleep(1000);
    }
    return thread_count();
}

const int repeats = 100 / static_cast<int>(test_support::thinning());

bool is_loaded(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (handle) {
        dlclose(handle);
    }
    return handle;
}

class Plugins : public testing::Test {
protected:
    // RTLD_GLOBAL offers the symbols of each to the next.
    const loaded first{QDQ_TEST_PLUGIN_A}, second{QDQ_TEST_PLUGIN_B};
    plugin_interface &a = *first.symbol<decltype(get_plugin_interface)>("get_plugin_interface")();
    plugin_interface &b = *second.symbol<decltype(get_plugin_interface)>("get_plugin_interface")();
    split_call call;
};

TEST_F(Plugins, that_link_the_static_library_share_no_code) {
    EXPECT_NE(&a, &b);
    EXPECT_NE(a.quantize, b.quantize);
    EXPECT_TRUE(call.is_right(a.quantize) && call.is_right(b.quantize));
}

TEST_F(Plugins, that_link_the_static_library_force_targets_of_their_own) {
    const std::string before = b.current_target();
    for (int32_t i = 0; i < qdq_target_count(); i++) {
        if (qdq_target_usable(i) && qdq_target_device(i) == QDQ_DEVICE_HOST) {
            ASSERT_EQ(a.force_target(qdq_target_name(i)), QDQ_OK);
            EXPECT_STREQ(a.current_target(), qdq_target_name(i));
            EXPECT_EQ(b.current_target(), before);
        }
    }
}

TEST_F(Plugins, that_link_the_static_library_have_pools_of_their_own) {
    static int loops;
    loops = 0;
    a.set_num_threads(4);
    b.set_num_threads(4);
    a.set_parallel_for(
        [](void *, int64_t count, qdq_task task, void *task_context) {
            loops++;
            for (int64_t i = 0; i < count; i++) {
                task(i, task_context);
            }
        },
        nullptr);
    EXPECT_TRUE(call.is_right(b.quantize));
    EXPECT_EQ(loops, 0);
    EXPECT_TRUE(call.is_right(a.quantize));
    EXPECT_EQ(loops, 1);
}

TEST(Unloading, ends_the_threads_of_a_plugin_and_of_its_destructors) {
    split_call call;
    const int64_t threads = thread_count();
    for (int i = 0; i < repeats; i++) {
        bool destructor_was_right = false;
        {
            const loaded plugin(QDQ_TEST_PLUGIN_A, RTLD_LOCAL);
            plugin_interface &own = *plugin.symbol<decltype(get_plugin_interface)>("get_plugin_interface")();
            EXPECT_TRUE(own.constructor_was_right);
            EXPECT_TRUE(call.is_right(own.quantize));
            EXPECT_EQ(thread_count(), threads + 3);
            own.destructor_was_right = &destructor_was_right;
        }
        ASSERT_FALSE(is_loaded(QDQ_TEST_PLUGIN_A));
        EXPECT_TRUE(destructor_was_right);
        EXPECT_EQ(settled_thread_count(threads), threads);
    }
}

TEST(Unloading, ends_the_threads_of_the_shared_library) {
    split_call call;
    const int64_t threads = thread_count();
    for (int i = 0; i < repeats; i++) {
        {
            const loaded library(QDQ_TEST_SHARED_LIBRARY, RTLD_LOCAL);
            library.symbol<decltype(qdq_set_num_threads)>("qdq_set_num_threads")(4);
            const auto quantize = library.symbol<decltype(qdq_quantize)>("qdq_quantize");
            EXPECT_TRUE(call.is_right(quantize));
            EXPECT_EQ(thread_count(), threads + 3);
        }
        ASSERT_FALSE(is_loaded(QDQ_TEST_SHARED_LIBRARY));
        EXPECT_EQ(settled_thread_count(threads), threads);
    }
}

TEST(Unloading, by_many_threads_at_once) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([] {
            split_call call;
            for (int i = 0; i < repeats / 2; i++) {
                const loaded library(QDQ_TEST_SHARED_LIBRARY, RTLD_LOCAL);
                library.symbol<decltype(qdq_set_num_threads)>("qdq_set_num_threads")(3);
                EXPECT_TRUE(call.is_right(library.symbol<decltype(qdq_quantize)>("qdq_quantize")));
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_FALSE(is_loaded(QDQ_TEST_SHARED_LIBRARY));
}

TEST(Unloading, in_a_child_of_fork_leaves_its_parent_s_threads) {
    split_call call;
    const loaded library(QDQ_TEST_SHARED_LIBRARY, RTLD_LOCAL);
    const auto quantize = library.symbol<decltype(qdq_quantize)>("qdq_quantize");
    library.symbol<decltype(qdq_set_num_threads)>("qdq_set_num_threads")(4);
    EXPECT_TRUE(call.is_right(quantize));
    EXPECT_EQ(in_child([&] {
                  library.~loaded();
                  return is_loaded(QDQ_TEST_SHARED_LIBRARY) ? 1 : 0;
              }),
              0);
    EXPECT_TRUE(call.is_right(quantize));
}

}  // namespace
}  // namespace concurrency_test
