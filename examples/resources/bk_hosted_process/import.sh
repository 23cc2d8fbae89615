# By namespace and name. The hosts are found on the platform, and their addresses become their keys.
terraform import bk_hosted_process.web 'web:nginx'

# With the hosts, if the platform does not list them yet.
terraform import bk_hosted_process.web 'web:nginx@0:10.0.0.1,0:10.0.0.2'

# With host keys, so that the next plan does not show every key as renamed.
terraform import bk_hosted_process.web 'web:nginx@web-1=0:10.0.0.1,web-2=0:10.0.0.2'
