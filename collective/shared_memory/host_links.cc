#include "collective/shared_memory/host_links.h"

#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/collective.pb.h"

namespace lockstep {
namespace {

// The same for all containers of one kernel, and for nothing else.
std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

class Connector {
 public:
  Connector(int rank, const RankNames& names, std::vector<LocalSocket>* links)
      : rank_(rank), world_size_(static_cast<int>(names.size())), names_(names), links_(links) {}

  absl::StatusOr<std::string> Run(const Gather& gather) {
    absl::StatusOr<LocalListener> listener = LocalListener::Open();
    own_.set_boot_id(BootId());
    own_.set_token(RandomToken());
    if (listener.ok()) own_.set_socket_name(listener->name());
    ASSIGN_OR_RETURN(const std::vector<std::string> gathered, gather(own_.SerializeAsString()));
    absl::Status status = listener.status();
    if (status.ok()) status = ReadCards(gathered);
    if (status.ok()) status = ConnectToLowerRanks();
    // Everybody has connected, or nobody waits.
    ASSIGN_OR_RETURN(std::string obstacle, AgreeOnObstacle(status, names_, gather));
    if (!obstacle.empty()) return obstacle;
    return AgreeOnObstacle(AcceptHigherRanks(&*listener), names_, gather);
  }

 private:
  absl::Status ReadCards(const std::vector<std::string>& gathered) {
    cards_.resize(world_size_);
    for (int rank = 0; rank < world_size_; ++rank) {
      if (!cards_[rank].ParseFromString(gathered[rank]))
        return absl::InvalidArgumentError(absl::StrCat("rank ", names_[rank], " has sent no host card"));
    }
    for (int rank = 0; rank < world_size_; ++rank) {
      if (own_.boot_id().empty() || cards_[rank].boot_id() != own_.boot_id())
        return absl::FailedPreconditionError(absl::StrCat("rank ", names_[rank], " is on another host"));
    }
    return absl::OkStatus();
  }

  absl::Status ConnectToLowerRanks() {
    for (int rank = 0; rank < rank_; ++rank) {
      absl::StatusOr<LocalSocket> link = LocalSocket::Connect(cards_[rank].socket_name());
      if (!link.ok()) {
        return absl::UnavailableError(absl::StrCat(
            "rank ", names_[rank], " cannot be reached on this host, as if in another container (",
            link.status().message(), ")"));
      }
      (*links_)[rank] = *std::move(link);
      RETURN_IF_ERROR((*links_)[rank].Send(Greeting(rank_, cards_[rank].token()), FileDescriptor()));
    }
    return absl::OkStatus();
  }

  // Nothing is waited for: each has connected and said who it is before it agreed. Strangers are turned away.
  absl::Status AcceptHigherRanks(LocalListener* listener) {
    for (int missing = world_size_ - 1 - rank_; missing > 0;) {
      ASSIGN_OR_RETURN(LocalSocket link, listener->Accept(absl::InfinitePast()));
      const absl::StatusOr<LocalMessage> message = link.Receive(absl::InfinitePast());
      v1::HostGreeting greeting;
      if (!message.ok() || !greeting.ParseFromString(message->bytes)) continue;
      const int rank = greeting.rank();
      if (greeting.token() != own_.token() || rank <= rank_ || rank >= world_size_) continue;
      (*links_)[rank] = std::move(link);
      --missing;
    }
    return absl::OkStatus();
  }

  static std::string Greeting(int rank, const std::string& token) {
    v1::HostGreeting greeting;
    greeting.set_rank(rank);
    greeting.set_token(token);
    return greeting.SerializeAsString();
  }

  const int rank_;
  const int world_size_;
  const RankNames& names_;
  std::vector<LocalSocket>* const links_;
  v1::HostCard own_;
  std::vector<v1::HostCard> cards_;
};

}  // namespace

absl::StatusOr<std::string> AgreeOnObstacle(const absl::Status& mine, const RankNames& names,
                                            const Gather& gather) {
  ASSIGN_OR_RETURN(const std::vector<std::string> reasons,
                   gather(mine.ok() ? std::string() : std::string(mine.message())));
  for (size_t rank = 0; rank < reasons.size(); ++rank) {
    if (!reasons[rank].empty()) return absl::StrCat("rank ", names[rank], ": ", reasons[rank]);
  }
  return std::string();
}

absl::StatusOr<std::string> ConnectHostLinks(int rank, const RankNames& names, const Gather& gather,
                                             std::vector<LocalSocket>* links) {
  links->clear();
  links->resize(names.size());
  ASSIGN_OR_RETURN(std::string obstacle, Connector(rank, names, links).Run(gather));
  if (!obstacle.empty()) links->clear();
  return obstacle;
}

}  // namespace lockstep
