#include "worker/job_store.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file_utilities.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

// Of the tables below: PRAGMA user_version of the file.
constexpr int64_t kSchemaVersion = 1;

constexpr char kSchema[] = R"(
    CREATE TABLE jobs(
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        request_id TEXT NOT NULL,
        spec BLOB NOT NULL,
        state INTEGER NOT NULL,
        error TEXT NOT NULL,
        created_unix_ms INTEGER NOT NULL,
        last_generation INTEGER NOT NULL,
        cancel_requested INTEGER NOT NULL,
        summary BLOB NOT NULL);
    CREATE TABLE events(
        number INTEGER NOT NULL,
        sequence INTEGER NOT NULL,
        event BLOB NOT NULL,
        PRIMARY KEY(number, sequence)) WITHOUT ROWID;
    PRAGMA user_version = 1;)";

absl::StatusCode CodeOf(int sqlite_code) {
  switch (sqlite_code & 0xff) {  // the rest is detail
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    case SQLITE_FULL:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return absl::StatusCode::kPermissionDenied;
    default:
      return absl::StatusCode::kUnknown;
  }
}

// One SQL statement with its parameters, which are counted from 1, and columns, from 0. Errors are kept by
// the database connection.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) {
    sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // False: the SQL is wrong, or the tables are not those that it expects.
  bool ok() const { return statement_ != nullptr; }

  void Bind(int parameter, int64_t value) { sqlite3_bind_int64(statement_, parameter, value); }
  void BindText(int parameter, absl::string_view text) {
    sqlite3_bind_text64(statement_, parameter, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  void BindBytes(int parameter, absl::string_view bytes) {
    // A null pointer would be NULL, not an empty value.
    sqlite3_bind_blob64(statement_, parameter, bytes.empty() ? "" : bytes.data(), bytes.size(),
                        SQLITE_TRANSIENT);
  }

  // SQLITE_ROW, SQLITE_DONE, or an error.
  int Step() { return sqlite3_step(statement_); }

  int64_t Number(int column) { return sqlite3_column_int64(statement_, column); }
  std::string Bytes(int column) {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return data == nullptr ? "" : std::string(data, sqlite3_column_bytes(statement_, column));
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

absl::Status MakeOwnDirectory(const std::string& directory) {
  FileSystem* files = FileSystem::Posix();
  RETURN_IF_ERROR(CreateDirectories(files, ParentDirectory(directory)));
  // Specifications may name what is nobody else's business.
  if (mkdir(directory.c_str(), 0700) == 0) return files->SyncDirectory(ParentDirectory(directory));
  struct stat info {};
  if (errno == EEXIST && stat(directory.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot create the directory ", directory));
}

std::string NameOf(const v1::JobSpec& spec) { return spec.name().empty() ? "job" : spec.name(); }

}  // namespace

absl::StatusOr<std::unique_ptr<JobStore>> JobStore::Open(const std::string& directory) {
  RETURN_IF_ERROR(MakeOwnDirectory(directory));
  const std::string path = absl::StrCat(directory, "/jobs.sqlite");
  sqlite3* database = nullptr;
  const int opened = sqlite3_open_v2(
      path.c_str(), &database,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  std::unique_ptr<JobStore> store(new JobStore(path, database));  // closes it in any case
  if (opened != SQLITE_OK) return store->Failed("cannot be opened");
  RETURN_IF_ERROR(store->Prepare());
  RETURN_IF_ERROR(FileSystem::Posix()->SyncDirectory(directory));
  return store;
}

JobStore::~JobStore() { sqlite3_close(database_); }

absl::Status JobStore::Prepare() {
  // Exclusive: the lock of the first access is kept for life. A lock of our own beside SQLite's would have to
  // open the file once more, and closing that would give up SQLite's.
  RETURN_IF_ERROR(Execute("PRAGMA locking_mode = EXCLUSIVE"));
  // Every commit is synced: a submission that was acknowledged survives a loss of power. Commits are few: one
  // per submission, change of state and epoch.
  RETURN_IF_ERROR(Execute("PRAGMA synchronous = FULL"));
  // The version first: nothing is written into a file that is not ours.
  RETURN_IF_ERROR(CheckSchema());
  RETURN_IF_ERROR(CheckWhole());
  RETURN_IF_ERROR(Execute("PRAGMA journal_mode = WAL"));
  // Takes the lock for writing, and finds out whether writing is possible.
  RETURN_IF_ERROR(Execute("BEGIN EXCLUSIVE"));
  absl::StatusOr<int64_t> version = Ask("PRAGMA user_version");
  absl::Status made = version.status();
  if (made.ok() && *version == 0) made = Execute(kSchema);
  if (made.ok()) made = Execute("COMMIT");
  if (!made.ok()) sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  return made;
}

absl::Status JobStore::CheckSchema() {
  ASSIGN_OR_RETURN(const int64_t version, Ask("PRAGMA user_version"));
  ASSIGN_OR_RETURN(const int64_t tables, Ask("SELECT count(*) FROM sqlite_master"));
  if (version > kSchemaVersion) {
    return absl::FailedPreconditionError(absl::StrCat("the job store ", path_, " has version ", version,
                                                      ", this lockstepd knows only ", kSchemaVersion,
                                                      ": run the newer one, or give another --state_dir"));
  }
  if (version == kSchemaVersion || tables == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path_, " is an SQLite file of something else, not a job store: give another --state_dir"));
}

absl::Status JobStore::CheckWhole() {
  Statement check(database_, "PRAGMA quick_check(1)");
  if (!check.ok() || check.Step() != SQLITE_ROW) return Failed("cannot be checked");
  const std::string verdict = check.Bytes(0);
  return verdict == "ok" ? absl::OkStatus() : Damaged(verdict);
}

absl::StatusOr<std::vector<JobStore::StoredJob>> JobStore::Load() {
  Statement select(database_,
                   "SELECT number, id, request_id, spec, state, error, created_unix_ms, last_generation, "
                   "cancel_requested, summary FROM jobs ORDER BY number");
  std::vector<StoredJob> jobs;
  if (!select.ok()) return Failed("cannot be read");
  int step;
  while ((step = select.Step()) == SQLITE_ROW) {
    JobRecord record;
    record.number = select.Number(0);
    record.job.set_id(select.Bytes(1));
    record.request_id = select.Bytes(2);
    const bool parsed = record.spec.ParseFromString(select.Bytes(3));
    record.job.set_name(NameOf(record.spec));
    record.job.set_state(static_cast<v1::JobState>(select.Number(4)));
    record.job.set_error(select.Bytes(5));
    record.job.set_created_unix_ms(select.Number(6));
    record.last_generation = select.Number(7);
    record.cancel_requested = select.Number(8) != 0;
    const std::string summary = select.Bytes(9);
    const bool summed = summary.empty() || record.job.mutable_summary()->ParseFromString(summary);
    if (!parsed || !summed || !v1::JobState_IsValid(record.job.state()))
      return Damaged(absl::StrCat("job ", record.job.id(), " cannot be read"));
    jobs.push_back({std::move(record), {}});
    RETURN_IF_ERROR(LoadEvents(&jobs.back()));
  }
  if (step != SQLITE_DONE) return Failed("cannot be read");
  return jobs;
}

absl::Status JobStore::LoadEvents(StoredJob* job) {
  Statement select(database_, "SELECT sequence, event FROM events WHERE number = ? ORDER BY sequence");
  if (!select.ok()) return Failed("cannot be read");
  select.Bind(1, job->record.number);
  int step;
  while ((step = select.Step()) == SQLITE_ROW) {
    v1::JobEvent event;
    const int64_t expected = static_cast<int64_t>(job->events.size()) + 1;
    if (!event.ParseFromString(select.Bytes(1)) || event.sequence() != expected ||
        select.Number(0) != expected)
      return Damaged(absl::StrCat("event ", expected, " of job ", job->record.job.id(), " cannot be read"));
    job->events.push_back(std::move(event));
  }
  return step == SQLITE_DONE ? absl::OkStatus() : Failed("cannot be read");
}

absl::Status JobStore::Write(absl::Span<const Update> updates, absl::Span<const int64_t> removed) {
  RETURN_IF_ERROR(Execute("BEGIN"));
  absl::Status written = WriteAll(updates, removed);
  if (written.ok()) written = Execute("COMMIT");
  // After some errors SQLite has done so itself.
  if (!written.ok() && sqlite3_get_autocommit(database_) == 0)
    sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  return written;
}

absl::Status JobStore::WriteAll(absl::Span<const Update> updates, absl::Span<const int64_t> removed) {
  for (const Update& update : updates) RETURN_IF_ERROR(WriteOne(update));
  for (const int64_t number : removed) {
    for (const char* sql : {"DELETE FROM events WHERE number = ?", "DELETE FROM jobs WHERE number = ?"}) {
      Statement remove(database_, sql);
      if (!remove.ok()) return Failed("cannot be written");
      remove.Bind(1, number);
      if (remove.Step() != SQLITE_DONE) return Failed("cannot be written");
    }
  }
  return absl::OkStatus();
}

absl::Status JobStore::WriteOne(const Update& update) {
  Statement put(database_, "INSERT OR REPLACE INTO jobs VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  if (!put.ok()) return Failed("cannot be written");
  const JobRecord& record = *update.record;
  put.Bind(1, record.number);
  put.BindText(2, record.job.id());
  put.BindText(3, record.request_id);
  put.BindBytes(4, record.spec.SerializeAsString());
  put.Bind(5, record.job.state());
  put.BindText(6, record.job.error());
  put.Bind(7, record.job.created_unix_ms());
  put.Bind(8, record.last_generation);
  put.Bind(9, record.cancel_requested ? 1 : 0);
  put.BindBytes(10, record.job.has_summary() ? record.job.summary().SerializeAsString() : "");
  if (put.Step() != SQLITE_DONE) return Failed("cannot be written");
  for (const v1::JobEvent& event : update.new_events) {
    Statement append(database_, "INSERT INTO events VALUES(?, ?, ?)");
    if (!append.ok()) return Failed("cannot be written");
    append.Bind(1, record.number);
    append.Bind(2, event.sequence());
    append.BindBytes(3, event.SerializeAsString());
    if (append.Step() != SQLITE_DONE) return Failed("cannot be written");
  }
  return absl::OkStatus();
}

absl::Status JobStore::Execute(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return absl::OkStatus();
  return Failed("cannot be used");
}

absl::StatusOr<int64_t> JobStore::Ask(const char* sql) {
  Statement ask(database_, sql);
  if (!ask.ok() || ask.Step() != SQLITE_ROW) return Failed("cannot be used");
  return ask.Number(0);
}

absl::Status JobStore::Damaged(const std::string& what) const {
  return absl::DataLossError(absl::StrCat("the job store ", path_, " is damaged: ", what,
                                          ". It was left as it is: repair it, or move it away to start with "
                                          "an empty one"));
}

absl::Status JobStore::Failed(const std::string& what) const {
  const int code = sqlite3_extended_errcode(database_);
  const char* text = sqlite3_errmsg(database_);
  if (CodeOf(code) == absl::StatusCode::kDataLoss) return Damaged(text);
  if ((code & 0xff) == SQLITE_BUSY) {
    return absl::FailedPreconditionError(
        absl::StrCat("the job store ", path_,
                     " belongs to another process that runs: stop that daemon, or give this one a "
                     "--state_dir of its own"));
  }
  return absl::Status(CodeOf(code), absl::StrCat("the job store ", path_, " ", what, ": ", text));
}

}  // namespace lockstep
