#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/aligned_buffer.h"
#include "base/file_system.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

absl::Status Failed(absl::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " ", path));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.Release()) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  int Release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

// Direct writes are for whole pages of the file and of memory.
constexpr size_t kPage = 4096;
// One direct write. Fewer, larger ones bring nothing (measured with 300 MB).
constexpr size_t kDirectBlock = size_t{2} << 20;
// Smaller appends are not worth the memory, and may be parts of a file that is written bit by bit.
constexpr size_t kLeastDirect = size_t{1} << 20;

// Large appends go past the page cache (O_DIRECT) where the file system can: 300 MB through fresh pages of
// the cache took 0.75 s of processor time, past it 0.02 s. What is that large, a checkpoint, is not read
// again soon.
class PosixWritableFile : public WritableFile {
 public:
  PosixWritableFile(FileDescriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  absl::Status Append(absl::string_view bytes) override {
    if (bytes.size() >= kLeastDirect) {
      RETURN_IF_ERROR(Write(TakeFirst((kPage - size_ % kPage) % kPage, &bytes)));
      RETURN_IF_ERROR(WriteDirectly(&bytes));
    }
    return Write(bytes);
  }

  absl::Status Sync() override { return fsync(fd_.get()) == 0 ? absl::OkStatus() : Failed("sync", path_); }

  absl::Status Close() override {
    // Not retried on EINTR: on Linux the descriptor is gone either way.
    return close(fd_.Release()) == 0 || errno == EINTR ? absl::OkStatus() : Failed("close", path_);
  }

 private:
  static absl::string_view TakeFirst(size_t size, absl::string_view* bytes) {
    const absl::string_view first = bytes->substr(0, size);
    bytes->remove_prefix(first.size());
    return first;
  }

  absl::Status Write(absl::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = write(fd_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return Failed("write", path_);
      bytes.remove_prefix(static_cast<size_t>(written));
      size_ += static_cast<size_t>(written);
    }
    return absl::OkStatus();
  }

  // Takes whole pages from the front of `bytes`, as many as can be written directly: maybe none.
  absl::Status WriteDirectly(absl::string_view* bytes) {
    if (!SetDirect(O_DIRECT)) return absl::OkStatus();
    if (block_.size() == 0) block_ = AlignedBytes(kDirectBlock);
    while (bytes->size() >= kPage && size_ % kPage == 0) {
      const size_t part = std::min(bytes->size() / kPage * kPage, kDirectBlock);
      std::memcpy(block_.data(), bytes->data(), part);
      const ssize_t written = write(fd_.get(), block_.data(), part);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0 && errno != EINVAL) return Failed("write", path_);
      if (written < 0) break;  // not there after all: then through the cache
      TakeFirst(static_cast<size_t>(written), bytes);
      size_ += static_cast<size_t>(written);
    }
    if (SetDirect(0)) return absl::OkStatus();
    return Failed("write", path_);
  }

  bool SetDirect(int flag) { return fcntl(fd_.get(), F_SETFL, flag) == 0; }

  FileDescriptor fd_;
  const std::string path_;
  size_t size_ = 0;
  AlignedBytes block_;  // on a huge page, so that it begins with one of `kPage`
};

class PosixReadableFile : public ReadableFile {
 public:
  PosixReadableFile(FileDescriptor fd, std::string path, int64_t size)
      : fd_(std::move(fd)), path_(std::move(path)), size_(size) {}

  int64_t size() const override { return size_; }

  absl::Status Read(int64_t offset, absl::Span<char> out) const override {
    while (!out.empty()) {
      const ssize_t bytes = pread(fd_.get(), out.data(), out.size(), offset);
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes < 0) return Failed("read", path_);
      if (bytes == 0) {
        return absl::DataLossError(
            absl::StrCat(path_, " ends at byte ", offset, ", ", out.size(), " bytes too early"));
      }
      out.remove_prefix(static_cast<size_t>(bytes));
      offset += bytes;
    }
    return absl::OkStatus();
  }

 private:
  const FileDescriptor fd_;
  const std::string path_;
  const int64_t size_;
};

class PosixFileSystem : public FileSystem {
 public:
  absl::Status CreateDirectory(const std::string& path) override {
    if (mkdir(path.c_str(), 0777) == 0) return absl::OkStatus();
    if (errno != EEXIST) return Failed("create the directory", path);
    struct stat info;
    if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return absl::OkStatus();
    errno = EEXIST;
    return Failed("create the directory", path);
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> CreateFile(const std::string& path) override {
    FileDescriptor fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (fd.get() < 0) return Failed("create", path);
    return std::make_unique<PosixWritableFile>(std::move(fd), path);
  }

  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenFile(const std::string& path) override {
    // O_NONBLOCK: a pipe without a writer must not hold us up until we see that it is a pipe.
    FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd.get() < 0) return Failed("open", path);
    struct stat info;
    if (fstat(fd.get(), &info) != 0) return Failed("open", path);
    if (!S_ISREG(info.st_mode)) {
      return absl::FailedPreconditionError(absl::StrCat("cannot read ", path, ": not a regular file"));
    }
    return std::make_unique<PosixReadableFile>(std::move(fd), path, info.st_size);
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    if (rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
    return Failed("rename", absl::StrCat(from, " to ", to));
  }

  absl::Status RemoveFile(const std::string& path) override {
    return unlink(path.c_str()) == 0 ? absl::OkStatus() : Failed("remove", path);
  }

  absl::Status RemoveEmptyDirectory(const std::string& path) override {
    return rmdir(path.c_str()) == 0 ? absl::OkStatus() : Failed("remove the directory", path);
  }

  absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& path) override {
    DIR* const directory = opendir(path.c_str());
    if (directory == nullptr) return Failed("list", path);
    const absl::Cleanup close_directory = [directory] { closedir(directory); };
    std::vector<std::string> names;
    for (;;) {
      errno = 0;
      const dirent* const entry = readdir(directory);
      if (entry == nullptr && errno != 0) return Failed("list", path);
      if (entry == nullptr) break;
      const absl::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  absl::StatusOr<Kind> GetKind(const std::string& path) override {
    struct stat info;
    if (lstat(path.c_str(), &info) != 0) return Failed("look up", path);
    return S_ISDIR(info.st_mode) ? Kind::kDirectory : Kind::kFile;
  }

  absl::Status SyncDirectory(const std::string& path) override {
    const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() < 0) return Failed("open the directory", path);
    // EINVAL: a file system, such as some on networks, that has nothing to sync for a directory.
    if (fsync(fd.get()) == 0 || errno == EINVAL) return absl::OkStatus();
    return Failed("sync the directory", path);
  }
};

}  // namespace

FileSystem* FileSystem::Posix() {
  static PosixFileSystem* const posix = new PosixFileSystem;
  return posix;
}

}  // namespace lockstep
