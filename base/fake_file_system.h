// A file system in memory that fails, hangs or crashes where a test wants it to, and forgets after a crash
// what was not synced. For tests only. Thread-safe. Paths are absolute; "/" exists.
#ifndef LOCKSTEP_BASE_FAKE_FILE_SYSTEM_H_
#define LOCKSTEP_BASE_FAKE_FILE_SYSTEM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/mutex.h"

namespace lockstep {

class FakeFileSystem : public FileSystem {
 public:
  // What a crash leaves of the changes that were not synced. Real systems do anything in between.
  enum class Unsynced {
    kKept,       // the process was killed, the machine lives
    kLost,       // power was lost, nothing had been written back
    kNamesKept,  // power was lost, names had been written back, bytes had not
  };

  FakeFileSystem();
  ~FakeFileSystem() override;

  // Operations so far, failed ones included: every call of a FileSystem, WritableFile or ReadableFile.
  int64_t operations();

  // The operation number `operation` (from 0, counted from now on) fails with `status`. An Append that
  // fails writes half of its bytes.
  void FailAt(int64_t operation, absl::Status status);

  // From the operation number `operation` (counted from now on) on, everything fails until Restart.
  void CrashAt(int64_t operation);

  // The machine is up again. Files that were open stay unusable.
  void Restart(Unsynced unsynced);

  // Every operation waits until Release, as those of a disk that hangs.
  void Hold();
  void Release();

  // Appends fail with RESOURCE_EXHAUSTED once all files together would have more bytes than this.
  void SetCapacity(int64_t bytes);

  absl::Status CreateDirectory(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> CreateFile(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenFile(const std::string& path) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status RemoveFile(const std::string& path) override;
  absl::Status RemoveEmptyDirectory(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& path) override;
  absl::StatusOr<Kind> GetKind(const std::string& path) override;
  absl::Status SyncDirectory(const std::string& path) override;

 private:
  struct Node;
  class Writer;
  class Reader;
  // A name in a directory that exists.
  struct Place {
    std::shared_ptr<Node> directory;
    std::string name;
  };

  absl::Status Count(const std::string& what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<Node> Find(const std::string& path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Place> FindPlace(const std::string& path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Remove(Kind kind, const std::string& path) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Append(Node* file, absl::string_view bytes, absl::Status fault)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  bool IsReleased() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !held_; }

  Mutex mutex_;
  std::shared_ptr<Node> root_ ABSL_GUARDED_BY(mutex_);
  int64_t operations_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t lives_ ABSL_GUARDED_BY(mutex_) = 0;  // number of restarts
  int64_t capacity_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, absl::Status> faults_ ABSL_GUARDED_BY(mutex_);
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<int64_t> crash_at_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_FAKE_FILE_SYSTEM_H_
