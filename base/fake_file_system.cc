#include "base/fake_file_system.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file_utilities.h"
#include "base/status_macros.h"

namespace lockstep {

// A file or a directory: how it is now, and what of it is on the disk.
struct FakeFileSystem::Node {
  using Entries = std::map<std::string, std::shared_ptr<Node>>;

  explicit Node(Kind kind) : kind(kind) {}

  const Kind kind;
  std::string bytes, synced_bytes;  // of a file
  Entries entries, synced_entries;  // of a directory
};

namespace {

absl::Status NotFound(const std::string& path) {
  return absl::NotFoundError(absl::StrCat(path, ": No such file or directory"));
}

absl::Status WrongKind(const std::string& path) {
  return absl::FailedPreconditionError(absl::StrCat(path, ": not of this kind"));
}

template <typename Node>
int64_t TotalBytes(const Node& node) {
  int64_t bytes = static_cast<int64_t>(node.bytes.size());
  for (const auto& [name, child] : node.entries) bytes += TotalBytes(*child);
  return bytes;
}

// What is left of `node` after a crash.
template <typename Node>
void Settle(FakeFileSystem::Unsynced unsynced, Node* node) {
  if (unsynced == FakeFileSystem::Unsynced::kLost) node->entries = node->synced_entries;
  if (unsynced != FakeFileSystem::Unsynced::kKept) node->bytes = node->synced_bytes;
  node->synced_entries = node->entries;
  node->synced_bytes = node->bytes;
  for (const auto& [name, child] : node->entries) Settle(unsynced, child.get());
}

}  // namespace

class FakeFileSystem::Writer : public WritableFile {
 public:
  Writer(FakeFileSystem* files, std::shared_ptr<Node> node, std::string path, int64_t life)
      : files_(files), node_(std::move(node)), path_(std::move(path)), life_(life) {}

  absl::Status Append(absl::string_view bytes) override {
    MutexLock lock(&files_->mutex_);
    absl::Status fault = files_->Count(absl::StrCat("append to ", path_));
    RETURN_IF_ERROR(CheckAlive());
    return files_->Append(node_.get(), bytes, std::move(fault));
  }
  absl::Status Sync() override {
    MutexLock lock(&files_->mutex_);
    RETURN_IF_ERROR(files_->Count(absl::StrCat("sync ", path_)));
    RETURN_IF_ERROR(CheckAlive());
    node_->synced_bytes = node_->bytes;
    return absl::OkStatus();
  }
  absl::Status Close() override {
    MutexLock lock(&files_->mutex_);
    RETURN_IF_ERROR(files_->Count(absl::StrCat("close ", path_)));
    return CheckAlive();
  }

 private:
  absl::Status CheckAlive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(files_->mutex_) {
    if (life_ == files_->lives_) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(path_, " was open when the machine crashed"));
  }

  FakeFileSystem* const files_;
  const std::shared_ptr<Node> node_;
  const std::string path_;
  const int64_t life_;
};

class FakeFileSystem::Reader : public ReadableFile {
 public:
  Reader(FakeFileSystem* files, std::shared_ptr<Node> node, std::string path)
      : files_(files),
        node_(std::move(node)),
        path_(std::move(path)),
        size_(static_cast<int64_t>(node_->bytes.size())) {}

  int64_t size() const override { return size_; }
  absl::Status Read(int64_t offset, absl::Span<char> out) const override {
    MutexLock lock(&files_->mutex_);
    RETURN_IF_ERROR(files_->Count(absl::StrCat("read ", path_)));
    const auto begin = static_cast<size_t>(offset);
    if (begin > node_->bytes.size() || out.size() > node_->bytes.size() - begin) {
      return absl::DataLossError(absl::StrCat(path_, " ends too early"));
    }
    if (!out.empty()) std::memcpy(out.data(), node_->bytes.data() + begin, out.size());
    return absl::OkStatus();
  }

 private:
  FakeFileSystem* const files_;
  const std::shared_ptr<Node> node_;
  const std::string path_;
  const int64_t size_;
};

FakeFileSystem::FakeFileSystem()
    : root_(std::make_shared<Node>(Kind::kDirectory)), capacity_(std::numeric_limits<int64_t>::max()) {}
FakeFileSystem::~FakeFileSystem() = default;

int64_t FakeFileSystem::operations() {
  MutexLock lock(&mutex_);
  return operations_;
}

void FakeFileSystem::FailAt(int64_t operation, absl::Status status) {
  MutexLock lock(&mutex_);
  faults_[operations_ + operation] = std::move(status);
}

void FakeFileSystem::CrashAt(int64_t operation) {
  MutexLock lock(&mutex_);
  crash_at_ = operations_ + operation;
}

void FakeFileSystem::Restart(Unsynced unsynced) {
  MutexLock lock(&mutex_);
  ++lives_;
  faults_.clear();
  crash_at_.reset();
  Settle(unsynced, root_.get());
}

void FakeFileSystem::Hold() {
  MutexLock lock(&mutex_);
  held_ = true;
}

void FakeFileSystem::Release() {
  MutexLock lock(&mutex_);
  held_ = false;
}

void FakeFileSystem::SetCapacity(int64_t bytes) {
  MutexLock lock(&mutex_);
  capacity_ = bytes;
}

absl::Status FakeFileSystem::Count(const std::string& what) {
  mutex_.Await(Condition(this, &FakeFileSystem::IsReleased));
  const int64_t operation = operations_++;
  if (crash_at_.has_value() && operation >= *crash_at_) {
    return absl::UnavailableError(absl::StrCat("crashed: cannot ", what));
  }
  const auto fault = faults_.find(operation);
  if (fault == faults_.end()) return absl::OkStatus();
  return absl::Status(fault->second.code(), absl::StrCat("cannot ", what, ": ", fault->second.message()));
}

std::shared_ptr<FakeFileSystem::Node> FakeFileSystem::Find(const std::string& path) {
  std::shared_ptr<Node> node = root_;
  for (absl::string_view name : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    const auto entry = node->entries.find(std::string(name));
    if (entry == node->entries.end()) return nullptr;
    node = entry->second;
  }
  return node;
}

absl::StatusOr<FakeFileSystem::Place> FakeFileSystem::FindPlace(const std::string& path) {
  const std::string parent = ParentDirectory(path);
  std::shared_ptr<Node> directory = Find(parent);
  if (directory == nullptr) return NotFound(parent);
  if (directory->kind != Kind::kDirectory) return WrongKind(parent);
  return Place{std::move(directory), path.substr(path.rfind('/') + 1)};
}

absl::Status FakeFileSystem::Append(Node* file, absl::string_view bytes, absl::Status fault) {
  const int64_t room = capacity_ - TotalBytes(*root_);
  if (fault.ok() && static_cast<int64_t>(bytes.size()) > room) {
    fault = absl::ResourceExhaustedError("cannot append: No space left on device");
  }
  absl::StrAppend(&file->bytes, fault.ok() ? bytes : bytes.substr(0, bytes.size() / 2));
  return fault;
}

absl::Status FakeFileSystem::CreateDirectory(const std::string& path) {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Count(absl::StrCat("create the directory ", path)));
  if (const std::shared_ptr<Node> node = Find(path); node != nullptr) {
    return node->kind == Kind::kDirectory ? absl::OkStatus() : WrongKind(path);
  }
  ASSIGN_OR_RETURN(const Place place, FindPlace(path));
  place.directory->entries[place.name] = std::make_shared<Node>(Kind::kDirectory);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<WritableFile>> FakeFileSystem::CreateFile(const std::string& path) {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Count(absl::StrCat("create ", path)));
  ASSIGN_OR_RETURN(const Place place, FindPlace(path));
  std::shared_ptr<Node>& node = place.directory->entries[place.name];
  if (node == nullptr) node = std::make_shared<Node>(Kind::kFile);
  if (node->kind != Kind::kFile) return WrongKind(path);
  node->bytes.clear();
  return std::make_unique<Writer>(this, node, path, lives_);
}

absl::StatusOr<std::unique_ptr<ReadableFile>> FakeFileSystem::OpenFile(const std::string& path) {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Count(absl::StrCat("open ", path)));
  std::shared_ptr<Node> node = Find(path);
  if (node == nullptr) return NotFound(path);
  if (node->kind != Kind::kFile) return WrongKind(path);
  return std::make_unique<Reader>(this, std::move(node), path);
}

absl::Status FakeFileSystem::Rename(const std::string& from, const std::string& to) {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Count(absl::StrCat("rename ", from, " to ", to)));
  const std::shared_ptr<Node> node = Find(from);
  if (node == nullptr) return NotFound(from);
  ASSIGN_OR_RETURN(const Place source, FindPlace(from));
  ASSIGN_OR_RETURN(const Place target, FindPlace(to));
  const auto replaced = target.directory->entries.find(target.name);
  if (replaced != target.directory->entries.end()) {
    const Node& old = *replaced->second;
    if (old.kind != node->kind || !old.entries.empty()) return WrongKind(to);
  }
  source.directory->entries.erase(source.name);
  target.directory->entries[target.name] = node;
  return absl::OkStatus();
}

absl::Status FakeFileSystem::RemoveFile(const std::string& path) { return Remove(Kind::kFile, path); }

absl::Status FakeFileSystem::RemoveEmptyDirectory(const std::string& path) {
  return Remove(Kind::kDirectory, path);
}

absl::Status FakeFileSystem::Remove(Kind kind, const std::string& path) {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Count(absl::StrCat("remove ", path)));
  const std::shared_ptr<Node> node = Find(path);
  if (node == nullptr) return NotFound(path);
  if (node->kind != kind || !node->entries.empty()) return WrongKind(path);
  ASSIGN_OR_RETURN(const Place place, FindPlace(path));
  place.directory->entries.erase(place.name);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> FakeFileSystem::ListDirectory(const std::string& path) {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Count(absl::StrCat("list ", path)));
  const std::shared_ptr<Node> node = Find(path);
  if (node == nullptr) return NotFound(path);
  if (node->kind != Kind::kDirectory) return WrongKind(path);
  std::vector<std::string> names;
  for (const auto& [name, child] : node->entries) names.push_back(name);
  return names;
}

absl::StatusOr<FileSystem::Kind> FakeFileSystem::GetKind(const std::string& path) {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Count(absl::StrCat("look up ", path)));
  const std::shared_ptr<Node> node = Find(path);
  if (node == nullptr) return NotFound(path);
  return node->kind;
}

absl::Status FakeFileSystem::SyncDirectory(const std::string& path) {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Count(absl::StrCat("sync the directory ", path)));
  const std::shared_ptr<Node> node = Find(path);
  if (node == nullptr) return NotFound(path);
  if (node->kind != Kind::kDirectory) return WrongKind(path);
  node->synced_entries = node->entries;
  return absl::OkStatus();
}

}  // namespace lockstep
