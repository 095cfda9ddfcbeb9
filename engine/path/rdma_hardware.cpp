/// Which of the transports that UCX finds do remote memory access in hardware.
#include <uct/api/uct.h>

#include <cstring>
#include <initializer_list>

#include "engine/path/rdma.hpp"

namespace mpix::engine {

namespace {

/// Transports whose put and get bypass the target's processor. UCX itself does not tell them apart from
/// those, such as tcp, that emulate put.
bool bypasses_target(uct_tl_resource_desc_t const& resource) noexcept {
  if (resource.dev_type != UCT_DEVICE_TYPE_NET) return false;
  for (char const* const prefix : {"rc_", "dc_", "ugni_rdma", "gga_", "srd_"}) {
    if (std::strncmp(resource.tl_name, prefix, std::strlen(prefix)) == 0) return true;
  }
  return false;
}

bool domain_has_rdma(uct_component_h component, char const* name) noexcept {
  uct_md_config_t* config = nullptr;
  if (uct_md_config_read(component, nullptr, nullptr, &config) != UCS_OK) return false;
  uct_md_h domain = nullptr;
  ucs_status_t const opened = uct_md_open(component, name, config, &domain);
  uct_config_release(config);
  if (opened != UCS_OK) return false;
  uct_tl_resource_desc_t* resources = nullptr;
  unsigned count = 0;
  bool found = false;
  if (uct_md_query_tl_resources(domain, &resources, &count) == UCS_OK) {
    for (unsigned i = 0; i < count; ++i) found = found || bypasses_target(resources[i]);
    uct_release_tl_resource_list(resources);
  }
  uct_md_close(domain);
  return found;
}

bool component_has_rdma(uct_component_h component) noexcept {
  uct_component_attr_t attributes{};
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  if (uct_component_query(component, &attributes) != UCS_OK || attributes.md_resource_count == 0)
    return false;
  std::vector<uct_md_resource_desc_t> domains(attributes.md_resource_count);
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attributes.md_resources = domains.data();
  if (uct_component_query(component, &attributes) != UCS_OK) return false;
  for (auto const& domain : domains) {
    if (domain_has_rdma(component, domain.md_name)) return true;
  }
  return false;
}

}  // namespace

bool hardware_rdma_present() {
  uct_component_h* components = nullptr;
  unsigned count = 0;
  if (uct_query_components(&components, &count) != UCS_OK) return false;
  bool found = false;
  for (unsigned i = 0; i < count && !found; ++i) found = component_has_rdma(components[i]);
  uct_release_component_list(components);
  return found;
}

}  // namespace mpix::engine
