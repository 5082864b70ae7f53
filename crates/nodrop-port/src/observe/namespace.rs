//! One network namespace, read through sockets created inside it.

use std::os::fd::OwnedFd;

use super::drops::DropCount;
use super::{Counters, ethtool, netlink, proc};
use crate::PortError;
use crate::process::{enter_network_namespace, network_namespace_inode};

/// A network namespace that can be read from any other namespace.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    pid: u32,
    inode: u32,
    route: OwnedFd,
    control: OwnedFd,
}

impl Namespace {
    /// Enter the network namespace of process `pid` and open the sockets to read it.
    ///
    /// # Errors
    /// If the process has exited or its namespaces may not be entered.
    pub fn open(name: &str, pid: u32) -> Result<Self, PortError> {
        enter_network_namespace(pid)?;
        let inode = network_namespace_inode()?;
        Ok(Self { name: name.to_owned(), pid, inode, route: netlink::open()?, control: ethtool::open()? })
    }

    /// Add all counters of this namespace, and the host's drops that occurred in it.
    pub(super) fn read(&self, drops: &[DropCount], into: &mut Counters) {
        let interfaces = proc::read_interfaces(&self.name, self.pid, into);
        proc::read_ip(&self.name, self.pid, into);
        for queue in netlink::queues(&self.route) {
            let Some(interface) = ethtool::interface_name(&self.control, queue.interface_index) else { continue };
            let prefix = format!("{}/{interface}/qdisc/{}", self.name, queue.kind);
            into.insert(format!("{prefix}/dropped"), queue.dropped);
            into.insert(format!("{prefix}/overlimits"), queue.overlimits);
        }
        for drop in drops.iter().filter(|drop| drop.namespace == self.inode) {
            let interface = ethtool::interface_name(&self.control, drop.interface_index).unwrap_or_default();
            into.insert(format!("{}/kernel/{}/{interface}", self.name, drop.reason), drop.count);
        }
        for interface in interfaces {
            for (counter, count) in ethtool::drop_counters(&self.control, &interface) {
                into.insert(format!("{}/{interface}/driver/{counter}", self.name), count);
            }
        }
    }
}
