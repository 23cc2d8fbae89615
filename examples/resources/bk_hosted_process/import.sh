# By namespace and name; the hosts are found on the platform, their addresses become their keys.
terraform import bk_hosted_process.web 'web:nginx'

# With the hosts, where the platform does not list them yet.
terraform import bk_hosted_process.web 'web:nginx@0:10.0.0.1,0:10.0.0.2'
