#include "engine/net/network_devices.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <uct/api/uct.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::engine {

namespace {

void add_devices_of(uct_md_h domain, std::vector<NetworkDevice>& found) {
  uct_tl_resource_desc_t* resources = nullptr;
  unsigned count = 0;
  if (uct_md_query_tl_resources(domain, &resources, &count) != UCS_OK) return;
  for (unsigned i = 0; i < count; ++i) {
    if (resources[i].dev_type == UCT_DEVICE_TYPE_NET)
      found.push_back({resources[i].dev_name, resources[i].tl_name});
  }
  uct_release_tl_resource_list(resources);
}

void add_devices_of(uct_component_h component, char const* domain_name, std::vector<NetworkDevice>& found) {
  uct_md_config_t* config = nullptr;
  if (uct_md_config_read(component, nullptr, nullptr, &config) != UCS_OK) return;
  uct_md_h domain = nullptr;
  ucs_status_t const opened = uct_md_open(component, domain_name, config, &domain);
  uct_config_release(config);
  if (opened != UCS_OK) return;
  add_devices_of(domain, found);
  uct_md_close(domain);
}

void add_devices_of(uct_component_h component, std::vector<NetworkDevice>& found) {
  uct_component_attr_t attributes{};
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  if (uct_component_query(component, &attributes) != UCS_OK || attributes.md_resource_count == 0) return;
  std::vector<uct_md_resource_desc_t> domains(attributes.md_resource_count);
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attributes.md_resources = domains.data();
  if (uct_component_query(component, &attributes) != UCS_OK) return;
  for (auto const& domain : domains) add_devices_of(component, domain.md_name, found);
}

struct Subnet {
  std::uint32_t address;
  std::uint32_t mask;
};

/// Returns nothing if the word is the name of an interface.
std::optional<Subnet> subnet_of(std::string_view word) {
  std::size_t const slash = word.find('/');
  in_addr address{};
  if (slash == std::string_view::npos ||
      ::inet_pton(AF_INET, std::string(word.substr(0, slash)).c_str(), &address) != 1)
    return std::nullopt;
  unsigned bits = 0;
  std::from_chars(word.data() + slash + 1, word.data() + word.size(), bits);
  std::uint32_t const mask = bits == 0 ? 0 : ~std::uint32_t{0} << (32 - std::min(bits, 32u));
  return Subnet{ntohl(address.s_addr) & mask, mask};
}

bool is_named(std::string_view word, std::string const& device,
              std::vector<InterfaceAddress> const& addresses) {
  std::optional<Subnet> const subnet = subnet_of(word);
  if (!subnet) return word == device;
  return std::any_of(addresses.begin(), addresses.end(), [&](InterfaceAddress const& each) {
    return each.interface == device && (each.address & subnet->mask) == subnet->address;
  });
}

bool is_listed(std::string_view list, std::string const& device,
               std::vector<InterfaceAddress> const& addresses) {
  while (!list.empty()) {
    std::size_t const comma = std::min(list.find(','), list.size());
    if (is_named(list.substr(0, comma), device, addresses)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

/// Whether a rule permits the interface `device`. `addresses` contains its addresses.
bool permits(std::string_view rule, std::string const& device,
             std::vector<InterfaceAddress> const& addresses) {
  if (rule.starts_with('+')) {
    if (is_listed("127.0.0.0/8", device, addresses)) return true;
    rule.remove_prefix(1);
  }
  bool const excludes = rule.starts_with('^');
  if (excludes) rule.remove_prefix(1);
  return is_listed(rule, device, addresses) != excludes;
}

bool is_loopback(InterfaceAddress const& each) { return each.address >> 24 == IN_LOOPBACKNET; }

}  // namespace

std::vector<NetworkDevice> network_devices() {
  std::vector<NetworkDevice> found;
  uct_component_h* components = nullptr;
  unsigned count = 0;
  if (uct_query_components(&components, &count) != UCS_OK) return found;
  for (unsigned i = 0; i < count; ++i) add_devices_of(components[i], found);
  uct_release_component_list(components);
  return found;
}

// Without getifaddrs, which queries everything that the kernel knows about every interface.
std::vector<InterfaceAddress> interface_addresses() {
  std::vector<InterfaceAddress> found;
  FileDescriptor const socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return found;
  std::vector<ifreq> all(16);
  ifconf list{};
  for (;; all.resize(2 * all.size())) {
    list.ifc_len = static_cast<int>(all.size() * sizeof all[0]);
    list.ifc_req = all.data();
    if (::ioctl(socket.get(), SIOCGIFCONF, &list) != 0) return found;
    // A list that fills the space may be truncated.
    if (static_cast<std::size_t>(list.ifc_len) < all.size() * sizeof all[0]) break;
  }
  all.resize(static_cast<std::size_t>(list.ifc_len) / sizeof all[0]);
  for (ifreq const& each : all) {
    sockaddr_in address{};
    std::memcpy(&address, &each.ifr_addr, sizeof address);
    ifreq state = each;
    if (::ioctl(socket.get(), SIOCGIFFLAGS, &state) != 0 || (state.ifr_flags & IFF_UP) == 0) continue;
    found.push_back({each.ifr_name, ntohl(address.sin_addr.s_addr)});
  }
  return found;
}

std::string text_of(InterfaceAddress const& address) {
  in_addr const plain{htonl(address.address)};
  char text[INET_ADDRSTRLEN] = {};
  return ::inet_ntop(AF_INET, &plain, text, sizeof text);
}

std::string permitted_devices(std::string_view rule, std::vector<NetworkDevice> const& devices,
                              std::vector<InterfaceAddress> const& addresses) {
  std::vector<std::string> permitted;
  bool any_interface = false;
  for (NetworkDevice const& device : devices) {
    bool const interface = device.transport == "tcp";
    if (interface && !permits(rule, device.name, addresses)) continue;
    any_interface = any_interface || interface;
    if (std::find(permitted.begin(), permitted.end(), device.name) == permitted.end())
      permitted.push_back(device.name);
  }
  if (!any_interface) permitted.push_back("lo");
  std::string list;
  for (std::string const& name : permitted) list += (list.empty() ? "" : ",") + name;
  return list;
}

std::optional<InterfaceAddress> permitted_address(std::string_view rule,
                                                  std::vector<InterfaceAddress> const& addresses) {
  auto const fits = [&](InterfaceAddress const& each) {
    return !is_loopback(each) && permits(rule, each.interface, {each});
  };
  auto const found = std::find_if(addresses.begin(), addresses.end(), fits);
  return found != addresses.end() ? std::optional(*found) : std::nullopt;
}

}  // namespace mpixrma::engine
