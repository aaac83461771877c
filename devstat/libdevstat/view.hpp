// View: the one reader of a library in this process, up to date, for one caller at a time.
//
// Ownership: the reader is never freed, because a thread may outlive main.
// Threads:   any.
// Errors:    the constructor throws std::system_error.
#pragma once

#include <mutex>

#include "devstat/libdevstat/reader.hpp"

namespace blkscope::devstat {

class View {
  public:
    View() : lock_(mutex) {
        if (!reader) reader = new Reader;
        reader->update();
    }

    Reader& operator*() const { return *reader; }
    Reader* operator->() const { return reader; }

  private:
    static inline std::mutex mutex;
    static inline Reader* reader = nullptr;

    std::lock_guard<std::mutex> lock_;
};

}  // namespace blkscope::devstat
